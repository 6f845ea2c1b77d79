/** Colours and sizes: one quiet teal, warm greys, contrast that holds in both schemes. */
import { createTheme, type MantineColorsTuple } from "@mantine/core";

const teal: MantineColorsTuple = [
  "#e9f6f7",
  "#d2eaec",
  "#a5d4d9",
  "#76bdc5",
  "#4fa9b3",
  "#2f95a1",
  "#187f8c",
  "#0f6b78",
  "#0b5d6b",
  "#074651",
];

const gray: MantineColorsTuple = [
  "#f8f8f7",
  "#f1f1ef",
  "#e6e6e3",
  "#d6d6d2",
  "#bdbdb8",
  "#8d8d88",
  "#65655f",
  "#4c4c47",
  "#32322f",
  "#1d1d1b",
];

const dark: MantineColorsTuple = [
  "#dededb",
  "#c2c2be",
  "#a5a5a0",
  "#77776f",
  "#44443f",
  "#363632",
  "#2a2a27",
  "#1f1f1d",
  "#171716",
  "#101010",
];

export const theme = createTheme({
  primaryColor: "teal",
  colors: { teal, gray, dark },
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  luminanceThreshold: 0.25,
  defaultRadius: "md",
  fontFamily:
    'Inter, -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace',
  headings: { fontWeight: "620" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Locking the page's scroll needs an inline style, which the page forbids; nothing scrolls
    // behind a dialog here, because the page itself is as high as the window.
    // The head of a dialog is no second head of the page.
    Modal: {
      defaultProps: { lockScroll: false, centered: true, attributes: { header: { role: "none" } } },
    },
    Drawer: { defaultProps: { lockScroll: false, attributes: { header: { role: "none" } } } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
  },
});
