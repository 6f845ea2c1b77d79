/** What the service says about single fields of a form, for beside them. */
import { type ReactNode, useState } from "react";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { type FieldProblem, fieldProblems, fieldSaid } from "../../i18n/fieldWords";
import { visible } from "../../shared/visible";
import { Lines } from "../../shell/Said";

/** Whether a problem is about a field of the body, or about a part of it. */
export const isAbout = (name: string, { path }: FieldProblem): boolean =>
  path === `body.${name}` || path.startsWith(`body.${name}[`) || path.startsWith(`body.${name}.`);

export function useFieldErrors() {
  const { language } = useTexts();
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  return {
    /** Save, and keep what the service says about the fields. */
    keeping: async <Saved,>(save: () => Promise<Saved>): Promise<Saved> => {
      setProblems([]);
      try {
        return await save();
      } catch (error) {
        setProblems(fieldProblems(asApiError(error).details));
        throw error;
      }
    },
    errorOf: (name: string): ReactNode => {
      const found = problems.find((problem) => isAbout(name, problem));
      if (found === undefined) return undefined;
      const said = fieldSaid(language, found);
      return <Lines what={visible(said.what)} detail={said.detail && visible(said.detail)} />;
    },
  };
}
