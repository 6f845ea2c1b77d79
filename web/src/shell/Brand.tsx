import css from "./Brand.module.css";

export function Brand() {
  return (
    <span className={css.brand}>
      <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
        <rect width="32" height="32" rx="8" className={css.ground} />
        <path d="M8 23V12m16 11V12M6 12h20M8 17l16-3" className={css.gate} />
      </svg>
      Tollgate
    </span>
  );
}
