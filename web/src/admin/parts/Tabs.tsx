/** The parts of a page, each with an address of its own. */
import { NavLink } from "react-router";
import css from "./parts.module.css";

interface Props {
  label: string;
  tabs: readonly { to: string; label: string }[];
}

export function Tabs({ label, tabs }: Props) {
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map((tab) => (
        <NavLink key={tab.to} to={tab.to} end className={css.tab ?? ""}>
          {tab.label}
        </NavLink>
      ))}
    </nav>
  );
}
