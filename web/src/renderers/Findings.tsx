/** What a search has found, by where it lies: hosts, files, or kinds of things. */
import { useTexts } from "../i18n";
import { visible } from "../shared/visible";
import { isObject, type Json, number, text } from "./data";
import css from "./renderers.module.css";

interface Finding {
  title: string;
  /** An address of the web; null for what lies here. */
  url: string | null;
  line: number | null;
  words: string;
}

export interface Place {
  name: string;
  findings: Finding[];
}

const MOST = 100;
const MOST_CHARS = 400;
const SCOPES = ["sessions", "memory", "files", "tools"] as const;
type Scope = (typeof SCOPES)[number];

const isScope = (name: string): name is Scope => (SCOPES as readonly string[]).includes(name);

export function FindingsBody({ value }: { value: readonly Place[] }) {
  const { t } = useTexts();
  const count = countOf(value);
  return (
    <div className={css.stack}>
      <ol className={css.places} aria-label={t("found.label")}>
        {firstOf(value, MOST).map((place) => (
          <li key={place.name}>
            <p className={css.place}>
              <span className="foreign">
                {isScope(place.name) ? t(`found.${place.name}`) : visible(place.name)}
              </span>
              <span className={css.quietInline}>{place.findings.length}</span>
            </p>
            <ul className={css.findings}>
              {place.findings.map((finding, index) => (
                <li key={index}>
                  <Title finding={finding} />
                  {finding.words !== "" && (
                    <span className={`${css.words} foreign`}>{visible(finding.words)}</span>
                  )}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
      {count > MOST && <p className={css.quiet}>{t("output.rows", { shown: MOST, count })}</p>}
    </div>
  );
}

function Title({ finding }: { finding: Finding }) {
  const { title, url, line } = finding;
  const shown = line === null ? title : `${line}`;
  if (url === null) return shown === "" ? null : <span className={css.spot}>{visible(shown)}</span>;
  return (
    <a
      className="foreign"
      href={url}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title={visible(url)}
    >
      {visible(shown)}
    </a>
  );
}

export function countOf(places: readonly Place[]): number {
  return places.reduce((sum, place) => sum + place.findings.length, 0);
}

/** The places up to so many findings. */
function firstOf(places: readonly Place[], most: number): Place[] {
  const kept: Place[] = [];
  let left = most;
  for (const place of places) {
    if (left <= 0) break;
    kept.push({ name: place.name, findings: place.findings.slice(0, left) });
    left -= place.findings.length;
  }
  return kept;
}

/** Places of a search of the web, of files, or of everything; null for anything else. */
export function readFindings(data: unknown): Place[] | null {
  if (isObject(data)) return isObject(data.results) ? byScope(data.results) : null;
  if (!Array.isArray(data) || data.length === 0 || !data.every(isObject)) return null;
  const rows = data as Json[];
  if (rows.every((row) => hostOf(row.url) !== null)) {
    return grouped(rows, (row) => hostOf(row.url) ?? "", onTheWeb);
  }
  if (rows.every((row) => text(row.path) !== "" && number(row.line) !== null)) {
    return grouped(rows, (row) => text(row.path), inFile);
  }
  return null;
}

function byScope(results: Json): Place[] | null {
  const places = Object.entries(results).map(([name, rows]) => ({
    name,
    findings: Array.isArray(rows) ? rows.filter(isObject).map(anywhere) : [],
  }));
  const found = places.filter((place) => place.findings.length > 0);
  return found.length === 0 ? null : found;
}

function grouped(
  rows: readonly Json[],
  nameOf: (row: Json) => string,
  findingOf: (row: Json) => Finding,
): Place[] {
  const places = new Map<string, Finding[]>();
  for (const row of rows) {
    const name = nameOf(row);
    places.set(name, [...(places.get(name) ?? []), findingOf(row)]);
  }
  return [...places].map(([name, findings]) => ({ name, findings }));
}

const onTheWeb = (row: Json): Finding => ({
  title: cut(text(row.title)) || text(row.url),
  url: text(row.url),
  line: null,
  words: cut(text(row.snippet)),
});

const inFile = (row: Json): Finding => ({
  title: "",
  url: null,
  line: number(row.line),
  words: cut(text(row.text)),
});

function anywhere(row: Json): Finding {
  const line = number(row.line);
  const path = text(row.path);
  const named = path === "" || line === null ? path : `${path}:${line}`;
  const title = cut(text(row.title) || text(row.key) || named || text(row.name));
  const words = cut(text(row.text) || text(row.description));
  return { title, url: null, line: null, words: words === title ? "" : words };
}

const cut = (words: string): string =>
  words.length > MOST_CHARS ? `${words.slice(0, MOST_CHARS)}…` : words;

/** The host of an address that a browser may go to; null for every other scheme. */
function hostOf(url: unknown): string | null {
  try {
    const { protocol, host } = new URL(text(url));
    return protocol === "https:" || protocol === "http:" ? host : null;
  } catch {
    return null;
  }
}
