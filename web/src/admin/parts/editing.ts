/** One thing while it is edited: as it was when its page was opened.

What others change meanwhile is not taken over unseen; the version it was read as has them refuse
the change instead, and `reload` shows what they did. Forms have `round` in their key: what is typed
into one stays while another is saved, and goes when everything is read anew.
*/
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

export function useEditing<T>(key: readonly unknown[], read: () => Promise<T>) {
  const queries = useQueryClient();
  const queryKey = ["editing", ...key];
  const [round, setRound] = useState(0);
  const query = useQuery({
    queryKey,
    queryFn: read,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return {
    query,
    round,
    reload: async () => {
      await query.refetch();
      setRound((former) => former + 1);
    },
    take: (changed: T) => {
      queries.setQueryData(queryKey, changed);
    },
  };
}
