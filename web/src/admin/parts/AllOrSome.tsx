/** Everything, or only what is listed: two different things, also where the list is empty. */
import { NativeSelect, TagsInput } from "@mantine/core";
import css from "./parts.module.css";

interface Props {
  label: string;
  description?: string;
  /** What null is called. */
  all: string;
  /** What a list is called. */
  some: string;
  /** Names the list for whoever hears the page. */
  list: string;
  proposed: readonly string[];
  value: string[] | null;
  onChange: (value: string[] | null) => void;
}

export function AllOrSome(props: Props) {
  const { label, description, all, some, list, proposed, value, onChange } = props;
  return (
    <div className={`${css.whole} ${css.choice}`}>
      <NativeSelect
        label={label}
        description={description}
        value={value === null ? "all" : "some"}
        onChange={(event) => onChange(event.currentTarget.value === "all" ? null : [])}
        data={[
          { value: "all", label: all },
          { value: "some", label: some },
        ]}
      />
      {value !== null && (
        <TagsInput
          aria-label={list}
          placeholder={list}
          data={[...proposed]}
          limit={100}
          value={value}
          onChange={onChange}
          acceptValueOnBlur
        />
      )}
    </div>
  );
}
