/** Language and colours. */
import { SegmentedControl, Stack, useMantineColorScheme } from "@mantine/core";
import { type Language, setLanguage, useTexts } from "../i18n";

export function Appearance() {
  const { t, language } = useTexts();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Stack gap="xs">
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={t("user.language")}
        value={language}
        onChange={(value) => setLanguage(value as Language)}
        data={[
          { value: "en", label: "English" },
          { value: "zh", label: "中文" },
        ]}
      />
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={t("user.colors")}
        value={colorScheme}
        onChange={(value) => setColorScheme(value as "auto" | "light" | "dark")}
        data={[
          { value: "auto", label: t("user.colors.auto") },
          { value: "light", label: t("user.colors.light") },
          { value: "dark", label: t("user.colors.dark") },
        ]}
      />
    </Stack>
  );
}
