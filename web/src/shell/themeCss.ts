/** The theme's CSS variables as text; run at build time. */
import {
  convertCssVariables,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
} from "@mantine/core";
import { theme } from "./theme";

export function themeCss(): string {
  const whole = mergeMantineTheme(DEFAULT_THEME, theme);
  const variables = convertCssVariables(defaultCssVariablesResolver(whole), ":root");
  const classes = Object.entries(whole.breakpoints).map(([name, width]) => {
    const below = `calc(${width} - 0.1px)`;
    return (
      `@media (max-width: ${below}) {.mantine-visible-from-${name} {display: none !important;}}` +
      `@media (min-width: ${width}) {.mantine-hidden-from-${name} {display: none !important;}}`
    );
  });
  return [variables, ...classes].join("\n");
}
