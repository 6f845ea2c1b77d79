/** A call that a rule is drafted from: one of the newest, or the one that a link names. */
import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../../api/client";
import { asApiError } from "../../../events/sessionStore";
import { useTextsOf } from "../../../i18n";
import { builder } from "../../../i18n/texts/builder";
import { visible } from "../../../shared/visible";
import { ErrorView } from "../../../shell/ErrorView";
import type { Definition } from "../ruleWords";
import { callLine } from "./callLine";

type Source = Pick<Schemas["DraftSource"], "operation_id" | "confirmation_id">;

export const draftFrom = (body: Source) => data(api.POST("/api/v1/admin/rules/draft", { body }));

interface Props {
  onDraft: (definition: Definition, from: string) => void;
}

export function StartFrom({ onDraft }: Props) {
  const own = useTextsOf(builder);
  const [chosen, setChosen] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const calls = useQuery({
    queryKey: ["admin", "rules", "recent-calls"],
    queryFn: () =>
      data(api.GET("/api/v1/admin/rules/recent-calls", { params: { query: { limit: 50 } } })),
  });

  async function pick(id: string) {
    setChosen(id);
    setFailure(null);
    if (id === "") return;
    try {
      const draft = await draftFrom({ operation_id: id });
      onDraft(
        draft.definition as unknown as Definition,
        callLine(draft.tool, draft.arguments as Record<string, unknown>),
      );
    } catch (error) {
      setFailure(error);
    }
  }

  const rows = calls.data?.calls ?? [];
  return (
    <>
      <NativeSelect
        label={own("start.recent")}
        description={own("start.lead")}
        value={chosen}
        disabled={rows.length === 0}
        onChange={(event) => void pick(event.currentTarget.value)}
        data={[
          {
            value: "",
            label: calls.isSuccess && rows.length === 0 ? own("start.none") : own("start.pick"),
          },
          ...rows.map((call) => ({
            value: call.operation_id,
            label: visible(callLine(call.tool_name, call.arguments as Record<string, unknown>)),
          })),
        ]}
      />
      {failure !== null && <ErrorView error={asApiError(failure)} compact />}
    </>
  );
}
