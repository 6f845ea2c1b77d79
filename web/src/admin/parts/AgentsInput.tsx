/** Which agents: those that have a profile are proposed, any id can be written, `*` is everybody. */
import { TagsInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";

interface Props {
  label: string;
  description?: string;
  value: string[];
  onChange: (value: string[]) => void;
}

export function AgentsInput({ label, description, value, onChange }: Props) {
  const { t } = useTexts();
  const agents = useQuery({
    queryKey: ["admin", "agents", "all"],
    queryFn: () => data(api.GET("/api/v1/admin/agents", { params: { query: { limit: 100 } } })),
  });
  const known = agents.data?.agents.map((agent) => agent.profile.id) ?? [];
  return (
    <TagsInput
      label={label}
      description={description}
      placeholder={t("agents.input")}
      data={["*", ...known]}
      value={value}
      onChange={onChange}
      acceptValueOnBlur
    />
  );
}
