/** Earlier entries that come above leave what somebody reads where it is. */
import { Component, createRef, type ReactNode } from "react";
import css from "./Chat.module.css";
import { isStuckToEnd } from "./useStickToEnd";

interface HeldPlaceProps {
  /** The first entry that is drawn: while it is the same, nothing came above. */
  first: string | undefined;
  children: ReactNode;
}

interface Place {
  entry: Element;
  top: number;
}

/**
 * Browsers hold the place by themselves only where something is above already, not at the top.
 *
 * A class, as only a class is asked right before the page changes.
 */
export class HeldPlace extends Component<HeldPlaceProps> {
  private readonly entries = createRef<HTMLDivElement>();

  override getSnapshotBeforeUpdate(before: HeldPlaceProps): Place[] | null {
    if (before.first === undefined || before.first === this.props.first) return null;
    const { entries, scroller } = this;
    // Who is at the end stays there, whatever comes above.
    if (entries.current === null || scroller === null || isStuckToEnd(scroller)) return null;
    const { top } = scroller.getBoundingClientRect();
    return [...entries.current.children]
      .map((entry) => ({ entry, ...pick(entry.getBoundingClientRect()) }))
      .filter(({ bottom }) => bottom > top);
  }

  override componentDidUpdate(_before: HeldPlaceProps, _state: unknown, places: Place[] | null) {
    // An entry may have become a part of a fold that begins earlier.
    const held = places?.find(({ entry }) => entry.isConnected);
    if (held === undefined || this.scroller === null) return;
    this.scroller.scrollTop += held.entry.getBoundingClientRect().top - held.top;
  }

  override render() {
    return (
      <div ref={this.entries} className={css.entries}>
        {this.props.children}
      </div>
    );
  }

  private get scroller(): HTMLElement | null {
    return this.entries.current?.closest<HTMLElement>(`.${css.scroller}`) ?? null;
  }
}

const pick = ({ top, bottom }: DOMRect) => ({ top, bottom });
