/** The network use of a command: one line, what was refused, and a table behind it. */
import { Table, UnstyledButton } from "@mantine/core";
import { Ban, ChevronDown, ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import { useTexts } from "../i18n";
import { refusalSaid, verdictSaid } from "../i18n/networkWords";
import { visible } from "../shared/visible";
import { Lines } from "../shell/Said";
import { bytes } from "./data";
import { isRefused, type NetworkUse, placeOf, reasonsOf, usedIn } from "./networkUse";
import css from "./renderers.module.css";

const MOST_REASONS = 3;

export function Network({ rows }: { rows: readonly NetworkUse[] }) {
  const { t, language } = useTexts();
  const panel = useId();
  const [open, setOpen] = useState(false);
  const used = usedIn(rows);
  const size = bytes(used.bytes, language);
  const parts = [
    ...(used.hosts > 0 ? [t("network.used", { count: used.hosts, size })] : []),
    ...(used.refused > 0 ? [t("network.used.refused", { count: used.refused })] : []),
  ];
  return (
    <div>
      <UnstyledButton
        className={css.fold}
        aria-expanded={open}
        aria-controls={panel}
        onClick={() => setOpen(!open)}
      >
        {open ? <ChevronDown size={13} aria-hidden /> : <ChevronRight size={13} aria-hidden />}
        {t("network.line", { used: parts.join(t("network.between")) })}
      </UnstyledButton>
      {!open && <Refusals rows={rows} />}
      <div id={panel} hidden={!open}>
        {open && <Rows rows={rows} />}
      </div>
    </div>
  );
}

/** What was refused, and why. */
export function Refusals({ rows }: { rows: readonly NetworkUse[] }) {
  const { t } = useTexts();
  const reasons = reasonsOf(rows);
  if (reasons.length === 0) return null;
  const more = reasons.length - MOST_REASONS;
  return (
    <ul className={css.refusals} aria-label={t("network.refusals")}>
      {reasons.slice(0, MOST_REASONS).map((row) => (
        <li key={row.reason || row.host}>
          <Ban size={13} aria-hidden />
          <span>
            <Reason row={row} />
          </span>
        </li>
      ))}
      {more > 0 && <li>{t("network.more", { count: more })}</li>}
    </ul>
  );
}

function Reason({ row }: { row: NetworkUse }) {
  const { language } = useTexts();
  const sentence = visible(row.reason || placeOf(row.host, row.port));
  return <Lines {...refusalSaid(language, row.code, sentence)} />;
}

function Rows({ rows }: { rows: readonly NetworkUse[] }) {
  const { t, language } = useTexts();
  return (
    <div className={css.box}>
      <div className={css.scroll} tabIndex={0} role="group" aria-label={t("network.table")}>
        <Table className={css.table} stickyHeader>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t("network.host")}</Table.Th>
              <Table.Th scope="col">{t("network.verdict")}</Table.Th>
              <Table.Th scope="col">{t("network.connections")}</Table.Th>
              <Table.Th scope="col">{t("network.up")}</Table.Th>
              <Table.Th scope="col">{t("network.down")}</Table.Th>
              {rows.some(isRefused) && <Table.Th scope="col">{t("network.reason")}</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row, index) => (
              <Table.Tr key={index}>
                <Table.Td className={`foreign mono ${css.host}`}>
                  {visible(placeOf(row.host, row.port))}
                </Table.Td>
                <Table.Td>{verdictSaid(t, row.verdict)}</Table.Td>
                <Table.Td>{row.connections.toLocaleString(language)}</Table.Td>
                <Table.Td className={css.size}>{bytes(row.up, language)}</Table.Td>
                <Table.Td className={css.size}>{bytes(row.down, language)}</Table.Td>
                {rows.some(isRefused) && (
                  <Table.Td className={css.why}>
                    {row.reason !== "" && <Reason row={row} />}
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </div>
  );
}
