/** The fields of a form, and what makes each of them a controlled input. */
import { type ChangeEvent, useState } from "react";

type Typed = ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>;
type Ticked = ChangeEvent<HTMLInputElement>;
type Named<Fields, Value> = {
  [Name in keyof Fields]: Fields[Name] extends Value ? Name : never;
}[keyof Fields];

/** What a number field holds while somebody types in it; "" is nothing. */
export type Digits = string | number;

export function useFields<Fields extends object>(first: Fields) {
  const [fields, setFields] = useState(first);
  const put = <Name extends keyof Fields>(name: Name, value: Fields[Name]) =>
    setFields((former) => ({ ...former, [name]: value }));
  return {
    fields,
    put,
    reset: () => setFields(first),
    text: (name: Named<Fields, string>) => ({
      value: fields[name] as string,
      onChange: (event: Typed) => put(name, event.currentTarget.value as Fields[typeof name]),
    }),
    digits: (name: Named<Fields, Digits>) => ({
      value: fields[name] as Digits,
      onChange: (value: Digits) => put(name, value as Fields[typeof name]),
    }),
    tick: (name: Named<Fields, boolean>) => ({
      checked: fields[name] as boolean,
      onChange: (event: Ticked) => put(name, event.currentTarget.checked as Fields[typeof name]),
    }),
    names: (name: Named<Fields, string[]>) => ({
      value: fields[name] as string[],
      onChange: (value: string[]) => put(name, value as Fields[typeof name]),
    }),
  };
}

/** A number field's value for the service; null where nothing stands. */
export const numberOf = (value: Digits): number | null => (value === "" ? null : Number(value));

/** A text for the service; null where nothing stands. */
export const textOf = (value: string): string | null => (value.trim() === "" ? null : value.trim());

/** The fields that somebody has changed: what was shown masked, or set in motion, stays as it is. */
export function changedOf<T extends object>(shown: T, now: T): Partial<T> {
  const names = (Object.keys(now) as (keyof T)[]).filter(
    (name) => JSON.stringify(now[name]) !== JSON.stringify(shown[name]),
  );
  return Object.fromEntries(names.map((name) => [name, now[name]])) as Partial<T>;
}
