/** A button for what cannot be taken back: it says what will happen, and asks. */
import { Button, type ButtonProps, Modal } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { asApiError } from "../../events/sessionStore";
import { useTexts } from "../../i18n";
import { ErrorView } from "../../shell/ErrorView";
import css from "./parts.module.css";

interface Props {
  label: string;
  /** The question above; the label where there is none. */
  title?: string;
  /** What happens. */
  what: ReactNode;
  /** The button that changes nothing; needed where the label itself is "Cancel". */
  keep?: string;
  act: () => Promise<unknown>;
  onDone: () => void;
  size?: ButtonProps["size"];
  /** What it does can be taken back: it does not look like a deletion. */
  isSafe?: boolean;
  /** Names the row for whoever hears the page. */
  about?: string;
}

export function AskFirst(props: Props) {
  const {
    label,
    title,
    what,
    keep,
    act,
    onDone,
    size = "compact-sm",
    about,
    isSafe = false,
  } = props;
  const { t } = useTexts();
  const [open, setOpen] = useState(false);
  const change = useMutation({
    mutationFn: act,
    onSuccess: () => {
      setOpen(false);
      onDone();
    },
  });
  return (
    <>
      <Button
        variant={isSafe ? "filled" : "default"}
        size={size}
        aria-label={about === undefined ? undefined : `${label}: ${about}`}
        onClick={() => {
          change.reset();
          setOpen(true);
        }}
      >
        {label}
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={title ?? label}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        <p className="foreign">{what}</p>
        {change.error !== null && <ErrorView error={asApiError(change.error)} compact />}
        <div className={css.formFoot}>
          <Button variant="default" onClick={() => setOpen(false)}>
            {keep ?? t("common.cancel")}
          </Button>
          <Button
            {...(isSafe ? {} : { color: "red" })}
            loading={change.isPending}
            onClick={() => change.mutate()}
          >
            {label}
          </Button>
        </div>
      </Modal>
    </>
  );
}
