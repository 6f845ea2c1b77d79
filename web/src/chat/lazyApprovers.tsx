/** What an approval policy requires of a confirmation, loaded with the first that has one. */
import { type ComponentProps, type ComponentType, lazy, Suspense } from "react";
import type * as Shown from "./Approvers";

const load = () => import("./Approvers");

function soon<Props extends object>(Part: ComponentType<Props>) {
  return (props: Props) => (
    <Suspense fallback={null}>
      <Part {...props} />
    </Suspense>
  );
}

export const ApprovalCount = soon<ComponentProps<typeof Shown.ApprovalCount>>(
  lazy(async () => ({ default: (await load()).ApprovalCount })),
);
export const Approvers = soon<ComponentProps<typeof Shown.Approvers>>(
  lazy(async () => ({ default: (await load()).Approvers })),
);
export const Standing = soon<ComponentProps<typeof Shown.Standing>>(
  lazy(async () => ({ default: (await load()).Standing })),
);
