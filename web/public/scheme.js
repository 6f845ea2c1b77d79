// Before the first paint: the colours and the language that were chosen here.
(() => {
  const root = document.documentElement;
  const kept = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const chosen = kept("tollgate-colors") ?? "auto";
  const dark = chosen === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
  root.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
  const language = kept("tollgate-language") ?? navigator.language;
  root.lang = language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
})();
