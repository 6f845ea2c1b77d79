/** The pages below a page; an address that leads to none of them says so. */
import type { ReactNode } from "react";
import { Route, Routes } from "react-router";
import { NotFound } from "./StatusPage";

export function Sections({ children }: { children: ReactNode }) {
  return (
    <Routes>
      {children}
      <Route path="*" element={<NotFound />} />
    </Routes>
  );
}
