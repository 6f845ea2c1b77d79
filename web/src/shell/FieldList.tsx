/** What is wrong with single fields, each by its name. */
import { List } from "@mantine/core";
import { useTexts } from "../i18n";
import { type FieldProblem, fieldSaid } from "../i18n/fieldWords";
import { visible } from "../shared/visible";
import { Lines } from "./Said";

interface Props {
  problems: readonly FieldProblem[];
  /** What stands above: a sentence of the service that is in it is not told again. */
  sentence: string;
}

export function FieldList({ problems, sentence }: Props) {
  const { language } = useTexts();
  const rows = problems.flatMap((problem) => {
    const said = fieldSaid(language, problem);
    const above = sentence.includes(problem.message);
    // One fault is told by the sentence itself.
    if (said.what === problem.message && above) return [];
    return [{ problem, said: above ? { ...said, detail: null } : said }];
  });
  if (rows.length === 0) return null;
  return (
    <List size="sm" mt={4}>
      {rows.map(({ problem, said }) => (
        <List.Item key={problem.path + problem.message} className="foreign">
          <b>{visible(problem.path)}</b>
          {language === "zh" ? "：" : ": "}
          <Lines what={visible(said.what)} detail={said.detail && visible(said.detail)} />
        </List.Item>
      ))}
    </List>
  );
}
