import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { themeCss } from "./src/shell/themeCss";

const SERVICE = process.env.TOLLGATE_URL ?? "http://127.0.0.1:8420";

/** The theme's variables as a file, so that the page needs no inline style. */
function themeFile(): Plugin {
  const name = "virtual:theme.css";
  return {
    name: "theme-css",
    resolveId: (id) => (id === name ? "\0theme.css" : undefined),
    load: (id) => (id === "\0theme.css" ? themeCss() : undefined),
  };
}

export default defineConfig({
  plugins: [react(), themeFile()],
  // The service puts its root in front: it may be below a path of another one.
  base: "./",
  build: {
    outDir: process.env.TOLLGATE_WEB_OUT ?? "../app/web/dist",
    emptyOutDir: true,
    target: "es2022",
    // Small images would become `data:` addresses in the style sheet.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What loads what; webbuild.py reads it for the budget of the first load, and takes it away.
    manifest: true,
  },
  server: {
    proxy: { "/api": { target: SERVICE, ws: true, changeOrigin: false } },
  },
});
