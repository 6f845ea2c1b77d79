/** A number of which nothing stands for the service's own. */
import { NumberInput, type NumberInputProps } from "@mantine/core";
import { useTexts } from "../../i18n";

export function NumberField(props: NumberInputProps<number>) {
  const { t } = useTexts();
  return (
    <NumberInput
      placeholder={props.required === true ? undefined : t("agents.default")}
      allowDecimal={false}
      allowNegative={false}
      hideControls
      {...props}
    />
  );
}
