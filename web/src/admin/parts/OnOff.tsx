/** A switch for one row. It moves with the answer: what it shows is what holds. */
import { Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { notifyError } from "../../shell/notify";

interface Props {
  label: string;
  on: boolean;
  disabled?: boolean;
  change: (on: boolean) => Promise<unknown>;
}

export function OnOff({ label, on, disabled = false, change }: Props) {
  const queries = useQueryClient();
  const turn = useMutation({
    mutationFn: change,
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
  return (
    <Switch
      aria-label={label}
      checked={turn.isPending ? turn.variables : on}
      disabled={disabled || turn.isPending}
      onChange={(event) => turn.mutate(event.currentTarget.checked)}
    />
  );
}
