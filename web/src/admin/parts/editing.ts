/** One thing while it is edited: as it was when its page was opened.

What others change meanwhile is not taken over unseen; the version it was read as has them refuse
the change instead, and `refetch` shows what they did.
*/
import { useQuery, useQueryClient } from "@tanstack/react-query";

export function useEditing<T>(key: readonly unknown[], read: () => Promise<T>) {
  const queries = useQueryClient();
  const queryKey = ["editing", ...key];
  const query = useQuery({
    queryKey,
    queryFn: read,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return { ...query, take: (changed: T) => queries.setQueryData(queryKey, changed) };
}
