/** Lists that come page by page, and changes that name the version they were made on. */
import { useInfiniteQuery } from "@tanstack/react-query";

export interface Paged<Row> {
  rows: readonly Row[];
  next: string | number | null | undefined;
  total?: number;
}

/** Every page read so far as one list. */
export function usePages<Row>(
  key: readonly unknown[],
  read: (cursor: string | number | undefined) => Promise<Paged<Row>>,
  options: { refetchInterval?: number } = {},
) {
  const query = useInfiniteQuery({
    queryKey: ["admin", ...key],
    initialPageParam: undefined as string | number | undefined,
    queryFn: ({ pageParam }) => read(pageParam),
    getNextPageParam: (last) => last.next ?? undefined,
    ...options,
  });
  const pages = query.data?.pages;
  return {
    ...query,
    data: pages?.flatMap((page) => page.rows),
    total: pages?.at(-1)?.total,
  };
}

/** `If-Match` for a change of what was read as this version. */
export const ifMatch = (version: number) => ({ "if-match": `"${version}"` });
