/** Going on from an earlier message, and between what was said in its place. */
import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, GitBranch, Pencil } from "lucide-react";
import { createContext, type ReactNode, useContext, useMemo, useRef } from "react";
import { api } from "../api/client";
import { type Branches, branchesOf, pathOf, shownItems } from "../events/branches";
import type { Placed } from "../events/model";
import { useTexts } from "../i18n";
import { notifyError } from "../shell/notify";
import css from "./Branching.module.css";
import { SESSIONS } from "./sessions";
import { useSession, useThisFeed } from "./useSession";

const BranchContext = createContext<Branches | null>(null);

/** The branch that is shown; what is inside can go to others. */
export function BranchProvider({
  children,
}: {
  children: (items: readonly Placed[]) => ReactNode;
}) {
  const { store } = useThisFeed();
  const items = useSession((session) => session.items);
  const parents = useSession((session) => session.parents);
  const leaf = useSession((session) => session.leaf);
  const branched = useSession((session) => session.branched);
  const shown = useMemo(
    () => shownItems({ items, parents, leaf, branched }),
    [items, parents, leaf, branched],
  );
  // Only a new entry makes another tree: who said it is known by then, and does not change.
  const branches = useMemo(
    () => branchesOf({ parents, messages: store.getState().session.messages }),
    [parents, store],
  );
  return <BranchContext.Provider value={branches}>{children(shown)}</BranchContext.Provider>;
}

export function useBranches(): Branches {
  const branches = useContext(BranchContext);
  if (branches === null) throw new Error("BranchProvider is missing");
  return branches;
}

/** Let the next message follow `entry`; rejects while a run is active. */
export function useGoTo(): (entry: string | null) => Promise<unknown> {
  const { id } = useThisFeed();
  const queries = useQueryClient();
  return async (entry) => {
    await api.POST("/api/v1/sessions/{session_id}/branch", {
      params: { path: { session_id: id } },
      body: { entry_id: entry },
    });
    // What a search has found tells on which branch it is.
    void queries.invalidateQueries({ queryKey: SESSIONS });
  };
}

/** What can be done with a message; nothing while a run is active, which would be in the way. */
export function MessageTools({ id, onEdit }: { id: string; onEdit?: () => void }) {
  const { t } = useTexts();
  const branches = useBranches();
  const goTo = useGoTo();
  const idle = useSession((session) => session.active.length === 0);
  const leaf = useSession((session) => session.leaf);
  const bar = useRef<HTMLDivElement>(null);
  const siblings = branches.siblings(id);
  const at = siblings.indexOf(id);
  const behind = branches.behind(id);

  function move(by: number) {
    const next = siblings[at + by];
    if (next !== undefined) goTo(branches.newest(next)).catch(notifyError);
  }

  function branch() {
    goTo(behind)
      .then(() => composerOf(bar.current)?.focus())
      .catch(notifyError);
  }

  return (
    <div ref={bar} className={css.tools}>
      {siblings.length > 1 && (
        <span className={css.place} role="group" aria-label={t("branch.place")}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={t("branch.previous")}
            disabled={!idle || at === 0}
            onClick={() => move(-1)}
          >
            <ChevronLeft size={15} aria-hidden />
          </ActionIcon>
          {t("branch.position", { position: at + 1, count: siblings.length })}
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={t("branch.next")}
            disabled={!idle || at === siblings.length - 1}
            onClick={() => move(1)}
          >
            <ChevronRight size={15} aria-hidden />
          </ActionIcon>
        </span>
      )}
      {idle && onEdit !== undefined && (
        <Action label={t("branch.edit")} onClick={onEdit}>
          <Pencil size={14} aria-hidden />
        </Action>
      )}
      {idle && behind !== leaf && (
        <Action label={t("branch.here")} onClick={branch}>
          <GitBranch size={14} aria-hidden />
        </Action>
      )}
    </div>
  );
}

function Action(props: { label: string; onClick: () => void; children: ReactNode }) {
  return (
    <Tooltip label={props.label}>
      <ActionIcon
        className={css.action}
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={props.label}
        onClick={props.onClick}
      >
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}

/** Stands at the end when more was said there already: the next message begins another branch. */
export function BranchNotice() {
  const { t } = useTexts();
  const branches = useBranches();
  const goTo = useGoTo();
  const leaf = useSession((session) => session.leaf);
  const idle = useSession((session) => session.active.length === 0);
  const newest = branches.newest(leaf);
  if (newest === leaf || !idle) return null;
  return (
    <div className={css.notice} role="status">
      <span>
        <GitBranch size={15} aria-hidden />
        {t("branch.notice")}
      </span>
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => void goTo(newest).catch(notifyError)}
      >
        {t("branch.back")}
      </Button>
    </div>
  );
}

/** Stands at the top when a search has led to a message that is not on the branch shown. */
export function SoughtElsewhere({ sought }: { sought: string }) {
  const { t } = useTexts();
  const branches = useBranches();
  const goTo = useGoTo();
  const parents = useSession((session) => session.parents);
  const leaf = useSession((session) => session.leaf);
  const idle = useSession((session) => session.active.length === 0);
  const isElsewhere = useMemo(
    () => parents.has(sought) && !pathOf({ parents }, leaf).includes(sought),
    [parents, leaf, sought],
  );
  if (!isElsewhere) return null;
  return (
    <div className={`${css.notice} ${css.sought}`} role="status">
      <span>
        <GitBranch size={15} aria-hidden />
        {t(idle ? "branch.sought" : "branch.sought.busy")}
      </span>
      {idle && (
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => void goTo(branches.newest(sought)).catch(notifyError)}
        >
          {t("branch.sought.go")}
        </Button>
      )}
    </div>
  );
}

/** The place to write of the session in which something stands. */
function composerOf(inside: Element | null): HTMLElement | null {
  const page = inside?.closest("[data-session]") ?? document.querySelector("[data-session]");
  return page?.querySelector<HTMLElement>("[data-composer]") ?? null;
}
