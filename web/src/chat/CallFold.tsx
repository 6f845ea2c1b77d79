/** Calls that went well one after another: one line, which opens. */
import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight, CircleCheck, Wrench } from "lucide-react";
import { useId } from "react";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { CallCard } from "./CallCard";
import css from "./CallCard.module.css";
import { useChosen } from "./cardMemory";
import { useSession } from "./useSession";

export function CallFold({ id, calls }: { id: string; calls: readonly string[] }) {
  const { t } = useTexts();
  const panel = useId();
  const [chosen, choose] = useChosen(`fold ${id}`);
  const open = chosen ?? false;
  const names = useSession((session) =>
    [...new Set(calls.map((call) => session.calls.get(call)?.name ?? ""))].join(", "),
  );
  const Arrow = open ? ChevronDown : ChevronRight;
  return (
    <section className={css.pile}>
      <UnstyledButton
        className={`${css.head} ${css.pileHead}`}
        aria-expanded={open}
        aria-controls={panel}
        onClick={() => choose(!open, false)}
      >
        <Wrench size={16} aria-hidden className={css.kind} />
        <span className={css.line}>
          <span className={css.title}>{t("call.used", { count: calls.length })}</span>
          <span className={`${css.summary} foreign`}>{visible(names)}</span>
        </span>
        <span className={css.status} data-tone="ok">
          <CircleCheck size={15} aria-hidden />
          <span className="hidden-visually">{t("call.success")}</span>
        </span>
        <Arrow size={15} aria-hidden className={css.arrow} />
      </UnstyledButton>
      <div id={panel} hidden={!open} className={css.piled}>
        {open && calls.map((call) => <CallCard key={call} id={call} folded />)}
      </div>
    </section>
  );
}
