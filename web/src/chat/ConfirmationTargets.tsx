/** What a call would hit, as it is written and where links lead from there. */
import type { ConfirmationRequest } from "../events/messages";
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import css from "./Dock.module.css";

type Target = NonNullable<ConfirmationRequest["targets"]>[number];
type Link = NonNullable<Target["links"]>[number];

/** So many names are shown at once. */
const FEW_NAMES = 8;

export function Targets({ request }: { request: ConfirmationRequest }) {
  const { t } = useTexts();
  const targets = request.targets ?? [];
  if (targets.length === 0) return null;
  return (
    <div className={css.why}>
      <h3>{t("confirm.targets")}</h3>
      <ul>
        {targets.map((target) => (
          <li key={target.path}>
            <Path path={target.path} real={target.real} />{" "}
            <span className={css.reasonText}>
              {t(`target.${target.type ?? "unknown"}`)}
              {target.files != null &&
                `, ${t(target.more ? "target.more_files" : "target.files", { count: target.files })}`}
            </span>
            <Names names={target.names ?? []} links={target.links ?? []} />
          </li>
        ))}
      </ul>
      {request.target_list != null && (
        <p className={css.reasonText}>
          {t(request.target_list.more ? "confirm.more_in_all" : "confirm.in_all", {
            count: request.target_list.count,
          })}
        </p>
      )}
    </div>
  );
}

/** The first files behind a folder or a pattern; few stand open. */
function Names({ names, links }: { names: readonly string[]; links: readonly Link[] }) {
  const { t } = useTexts();
  if (names.length === 0) return null;
  const places = new Map(links.map((link) => [link.path, link.real]));
  return (
    <details open={names.length <= FEW_NAMES}>
      <summary>{t("target.names")}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <Path path={name} real={places.get(name)} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Path({ path, real }: { path: string; real?: string | null | undefined }) {
  const { t } = useTexts();
  return (
    <>
      <code className="mono foreign">{visible(path)}</code>
      {real != null && (
        <>
          {" "}
          <span className={css.reasonText}>{t("target.leads_to")}</span>{" "}
          <code className="mono foreign">{visible(real)}</code>
        </>
      )}
    </>
  );
}
