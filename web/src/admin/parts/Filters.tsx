/** Fields above a list that narrow it down; what is typed counts after a short rest. */
import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { type ReactNode, useState } from "react";
import css from "./parts.module.css";

/** What is asked for: only fields in which something stands. `first` stands there at first. */
export function useFilters<Name extends string>(
  first: Partial<Record<Name, string>> = {},
): {
  typed: Partial<Record<Name, string>>;
  wanted: Record<string, string>;
  type: (name: Name, value: string) => void;
} {
  const [typed, setTyped] = useState(first);
  const [rested] = useDebouncedValue(typed, 300);
  return {
    typed,
    wanted: Object.fromEntries(
      Object.entries<string | undefined>(rested).flatMap(([name, value]) =>
        value === undefined || value.trim() === "" ? [] : [[name, value.trim()]],
      ),
    ),
    type: (name, value) => setTyped((former) => ({ ...former, [name]: value })),
  };
}

interface Props<Name extends string> {
  names: readonly Name[];
  label: (name: Name) => string;
  typed: Partial<Record<Name, string>>;
  onType: (name: Name, value: string) => void;
  children?: ReactNode;
}

export function Filters<Name extends string>(props: Props<Name>) {
  const { names, label, typed, onType, children } = props;
  return (
    <div className={css.filters}>
      {names.map((name) => (
        <TextInput
          key={name}
          size="xs"
          label={label(name)}
          value={typed[name] ?? ""}
          onChange={(event) => onType(name, event.currentTarget.value)}
        />
      ))}
      {children}
    </div>
  );
}
