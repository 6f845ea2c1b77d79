/** A button that opens a form about one thing. The form begins anew each time. */
import { Button, Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTexts } from "../../i18n";

export interface FormEnds {
  onSaved: () => void;
  /** For who was overtaken: shows what the other did. */
  reload: () => void;
}

interface Props {
  label: string;
  /** Names the row for whoever hears the page. */
  about?: string;
  /** Of the dialog; else the button's words. */
  title?: string;
  /** It makes something new: the button of the page. */
  isNew?: boolean;
  children: (ends: FormEnds) => ReactNode;
}

export function EditDialog({ label, about, title, isNew = false, children }: Props) {
  const { t } = useTexts();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    void queries.invalidateQueries({ queryKey: ["admin"] });
  };
  return (
    <>
      <Button
        {...(isNew
          ? { leftSection: <Plus size={15} aria-hidden /> }
          : { variant: "default", size: "compact-sm" })}
        aria-label={about === undefined ? undefined : `${label}: ${about}`}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={title ?? (about === undefined ? label : `${label}: ${about}`)}
        size="lg"
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        {children({ onSaved: close, reload: close })}
      </Modal>
    </>
  );
}
