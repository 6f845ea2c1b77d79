/**
 * What draws a result: picked by its `type`, and for some tools by name.
 *
 * A renderer is given the call and its data; one that cannot make sense of the data returns
 * null from `accepts`, and the next fitting one is taken. The last accepts everything.
 */
import type { ComponentType } from "react";
import type { Call } from "../events/model";

export interface Drawn {
  call: Call;
  data: unknown;
}

export interface Renderer<T> {
  id: string;
  /** The types of `raw_result` it is for; a tool's name goes as `tool:<name>`. */
  types: readonly string[];
  /** The data as this renderer needs it; null when it is something else. */
  accepts: (data: unknown, call: Call) => T | null;
  Body: ComponentType<{ call: Call; value: T }>;
  /** A few words for the folded card. */
  summary?: (value: T, call: Call) => string | null;
}

export interface Chosen {
  id: string;
  body: React.ReactNode;
  summary: string | null;
}

type Entry = { id: string; types: readonly string[]; choose: (drawn: Drawn) => Chosen | null };

export class Registry {
  private readonly entries: Entry[] = [];

  /** Later registrations of a type win over earlier ones. */
  register<T>(renderer: Renderer<T>): this {
    const { id, types, accepts, Body, summary } = renderer;
    this.entries.unshift({
      id,
      types,
      choose: ({ call, data }) => {
        const value = accepts(data, call);
        if (value === null) return null;
        return {
          id,
          body: <Body call={call} value={value} />,
          summary: summary?.(value, call) ?? null,
        };
      },
    });
    return this;
  }

  choose(call: Call): Chosen {
    const data = call.raw?.data;
    const keys = [`tool:${call.name}`, call.raw?.type ?? "", "*"];
    for (const key of keys) {
      for (const entry of this.entries) {
        const chosen = entry.types.includes(key) ? entry.choose({ call, data }) : null;
        if (chosen !== null) return chosen;
      }
    }
    return { id: "none", body: null, summary: null };
  }
}
