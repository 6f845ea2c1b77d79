/** What the parts of a data source's page share: their props, and how a change is saved. */
import { api, data, type Schemas } from "../../api/client";
import { ifMatch } from "../parts/pages";
import type { Source } from "./SourceAddress";

export interface EditProps {
  source: Source;
  reload: () => unknown;
  take: (changed: Source) => void;
}

export const changeSource = (source: Source, body: Schemas["SourceChange"]) =>
  data(
    api.PATCH("/api/v1/admin/data-sources/{source_id}", {
      params: { path: { source_id: source.id }, header: ifMatch(source.version) },
      body,
    }),
  );
