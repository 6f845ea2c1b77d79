/** What a person has opened and folded themselves, by session. */
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import type { SessionFeed } from "../events/sessionStore";
import { useThisFeed } from "./useSession";

interface Memory {
  /** Cards and folds that were opened (true) or folded (false). */
  chosen: ReadonlyMap<string, boolean>;
  /** Calls that are read where they stand, and are not taken into a fold. */
  kept: ReadonlySet<string>;
}

const memories = new WeakMap<SessionFeed, StoreApi<Memory>>();

function memoryOf(feed: SessionFeed): StoreApi<Memory> {
  const known = memories.get(feed);
  if (known !== undefined) return known;
  const memory = createStore<Memory>(() => ({ chosen: new Map(), kept: new Set() }));
  memories.set(feed, memory);
  return memory;
}

/** Whether somebody has opened or folded it, and how to; `keep` leaves it where it stands. */
export function useChosen(
  id: string,
): readonly [boolean | null, (open: boolean, keep: boolean) => void] {
  const memory = memoryOf(useThisFeed());
  const chosen = useStore(memory, (state) => state.chosen.get(id) ?? null);
  const choose = (open: boolean, keep: boolean) =>
    memory.setState((state) => ({
      chosen: new Map(state.chosen).set(id, open),
      kept: keep ? new Set(state.kept).add(id) : state.kept,
    }));
  return [chosen, choose];
}

export function useKept(): ReadonlySet<string> {
  return useStore(memoryOf(useThisFeed()), (state) => state.kept);
}
