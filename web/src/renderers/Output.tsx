/** Text from outside in a box that scrolls: bounded, coloured if a terminal wrote it, inert. */
import { ActionIcon, Button, CopyButton, Tooltip } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { parseAnsi, withoutAnsi } from "./ansi";
import css from "./renderers.module.css";

export const SHOWN = 10_000;

interface Props {
  text: string;
  label: string;
  ansi?: boolean;
  tone?: "bad";
  /** Keep the end in view, and show the end when there is too much. */
  live?: boolean;
}

export const Output = memo(function Output({
  text,
  label,
  ansi = false,
  tone,
  live = false,
}: Props) {
  const { t, language } = useTexts();
  const [all, setAll] = useState(false);
  const cut = !all && text.length > SHOWN;
  const shown = cut ? (live ? text.slice(-SHOWN) : text.slice(0, SHOWN)) : text;
  return (
    <div className={css.box}>
      <div className={css.scroll} data-live={live} tabIndex={0} role="group" aria-label={label}>
        <pre className={`${css.pre} foreign`} data-tone={tone} dir="ltr">
          {ansi ? <Coloured text={shown} /> : visible(shown)}
        </pre>
      </div>
      <CopyButton value={ansi ? withoutAnsi(text) : text}>
        {({ copied, copy }) => (
          <Tooltip label={t(copied ? "common.copied" : "common.copy")}>
            <ActionIcon
              className={css.copy}
              variant="default"
              size="sm"
              aria-label={t(copied ? "common.copied" : "common.copy")}
              onClick={copy}
            >
              {copied ? <Check size={13} aria-hidden /> : <Copy size={13} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
      {cut && !live && (
        <Button
          className={css.all}
          size="compact-xs"
          variant="default"
          onClick={() => setAll(true)}
        >
          {t("output.all", { count: text.length.toLocaleString(language) })}
        </Button>
      )}
    </div>
  );
});

function Coloured({ text }: { text: string }) {
  const pieces = useMemo(() => parseAnsi(text), [text]);
  return pieces.map((piece, index) => {
    const plain = piece.color === null && !piece.bold && !piece.dim && !piece.underline;
    if (plain) return piece.text;
    return (
      <span
        key={index}
        data-color={piece.color ?? undefined}
        data-bold={piece.bold || undefined}
        data-dim={piece.dim || undefined}
        data-underline={piece.underline || undefined}
      >
        {piece.text}
      </span>
    );
  });
}
