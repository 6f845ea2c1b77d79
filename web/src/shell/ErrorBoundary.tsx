/** Keeps a mistake in one page from taking the others along. */
import { Button, Code } from "@mantine/core";
import { Component, type ReactNode } from "react";
import { translate } from "../i18n";
import { StatusPage } from "./StatusPage";

export class ErrorBoundary extends Component<{ children: ReactNode }, { failed: Error | null }> {
  override state: { failed: Error | null } = { failed: null };

  static getDerivedStateFromError(failed: Error) {
    return { failed };
  }

  override render(): ReactNode {
    if (this.state.failed === null) return this.props.children;
    return (
      <div role="alert">
        <StatusPage title={translate("error.page")}>
          <Code>{this.state.failed.message}</Code>
          <Button variant="default" onClick={() => location.reload()}>
            {translate("error.reload")}
          </Button>
        </StatusPage>
      </div>
    );
  }
}
