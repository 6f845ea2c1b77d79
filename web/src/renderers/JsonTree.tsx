/** JSON that folds: the first two levels open, long lists cut. */
import { Button, UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { isObject } from "./data";
import css from "./renderers.module.css";

const STEP = 50;
const LONG = 600;
const OPEN_LEVELS = 2;

export function JsonTree({ value }: { value: unknown }) {
  const { t } = useTexts();
  return (
    <div className={css.box}>
      <div className={css.scroll} tabIndex={0} role="group" aria-label={t("output.json")}>
        <div className={css.json}>
          <Node value={value} depth={0} />
        </div>
      </div>
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const entries = entriesOf(value);
  if (entries === null || entries.length === 0) {
    return (
      <div className={css.jsonLine}>
        {name !== undefined && <Key name={name} />}
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch name={name} entries={entries} list={Array.isArray(value)} depth={depth} />;
}

interface BranchProps {
  name: string | undefined;
  entries: readonly [string, unknown][];
  list: boolean;
  depth: number;
}

function Branch({ name, entries, list, depth }: BranchProps) {
  const { t } = useTexts();
  const [open, setOpen] = useState(depth < OPEN_LEVELS);
  const [shown, setShown] = useState(STEP);
  const Arrow = open ? ChevronDown : ChevronRight;
  return (
    <div>
      <UnstyledButton className={css.jsonFold} aria-expanded={open} onClick={() => setOpen(!open)}>
        <Arrow size={13} aria-hidden />
        {name !== undefined && <Key name={name} />}
        <span className={css.quietInline}>
          {list ? `[${entries.length}]` : `{${entries.length}}`}
        </span>
      </UnstyledButton>
      {open && (
        <div className={css.jsonInner}>
          {entries.slice(0, shown).map(([key, item]) => (
            <Node key={key} name={key} value={item} depth={depth + 1} />
          ))}
          {entries.length > shown && (
            <Button size="compact-xs" variant="default" onClick={() => setShown(shown + STEP * 4)}>
              {t("common.more")}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

function Key({ name }: { name: string }) {
  return <span className={css.jsonKey}>{visible(name)}: </span>;
}

function Leaf({ value }: { value: unknown }) {
  const { t } = useTexts();
  const [all, setAll] = useState(false);
  if (typeof value !== "string") {
    return <span className={css.jsonValue}>{JSON.stringify(value) ?? "null"}</span>;
  }
  const cut = !all && value.length > LONG;
  return (
    <span className={`${css.jsonText} foreign`}>
      {visible(JSON.stringify(cut ? value.slice(0, LONG) : value))}
      {cut && (
        <Button size="compact-xs" variant="default" onClick={() => setAll(true)}>
          {t("output.all", { count: value.length })}
        </Button>
      )}
    </span>
  );
}

function entriesOf(value: unknown): readonly [string, unknown][] | null {
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item]);
  return isObject(value) ? Object.entries(value) : null;
}
