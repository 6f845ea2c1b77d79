/** Data sources: databases that agents may ask, what of them, and whether they answer. */
import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { Link, Route } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Sections } from "../../shell/Sections";
import { Chips, Foreign } from "../parts/Bits";
import { OnOff } from "../parts/OnOff";
import { Loaded, More, Page } from "../parts/Page";
import { ifMatch, usePages } from "../parts/pages";
import css from "../parts/parts.module.css";
import { Table } from "../parts/Table";
import { NewSourcePage, SourcePage } from "./SourcePage";
import { SourceTest } from "./SourceTest";

type Source = Schemas["AdminSource"];

export default function SourcesPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path="new" element={<NewSourcePage />} />
      <Route path="source/:id" element={<SourcePage />} />
    </Sections>
  );
}

function List() {
  const { t } = useTexts();
  const sources = usePages<Source>(["sources"], async (after) => {
    const query = { limit: 50, ...(after === undefined ? {} : { after: String(after) }) };
    const page = await data(api.GET("/api/v1/admin/data-sources", { params: { query } }));
    return { rows: page.sources, next: page.next_after };
  });
  return (
    <Page
      title={t("admin.sources")}
      lead={t("sources.lead")}
      actions={
        <Button
          component={Link}
          to="/admin/sources/new"
          leftSection={<Plus size={15} aria-hidden />}
        >
          {t("sources.new")}
        </Button>
      }
    >
      <Loaded query={sources}>
        {(rows) => (
          <Table
            label={t("admin.sources")}
            rows={rows}
            id={(source) => source.id}
            empty={t("sources.empty")}
            columns={[
              {
                head: t("tools.on"),
                cell: (source) => (
                  <OnOff
                    label={t("sources.switch", { name: source.name })}
                    on={source.enabled}
                    change={(enabled) =>
                      data(
                        api.PATCH("/api/v1/admin/data-sources/{source_id}", {
                          params: {
                            path: { source_id: source.id },
                            header: ifMatch(source.version),
                          },
                          body: { enabled },
                        }),
                      )
                    }
                  />
                ),
              },
              { head: t("sources.source"), wide: true, cell: (source) => <Name source={source} /> },
              {
                head: t("sources.tables"),
                cell: (source) => (
                  <Chips values={source.tables.map((table) => `${table.schema}.${table.name}`)} />
                ),
              },
              { head: t("sources.agents"), cell: (source) => <Chips values={source.agents} /> },
              {
                head: t("sources.test"),
                wide: true,
                cell: (source) => <SourceTest id={source.id} name={source.name} />,
              },
            ]}
          />
        )}
      </Loaded>
      <More query={sources} />
    </Page>
  );
}

function Name({ source }: { source: Source }) {
  return (
    <>
      <Link className={css.link} to={`/admin/sources/source/${encodeURIComponent(source.id)}`}>
        <Foreign>{source.name}</Foreign>
      </Link>
      <span className={css.under}>
        <Foreign mono>{`${source.kind} ${placeOf(source)}`}</Foreign>
      </span>
    </>
  );
}

function placeOf({ file, unix_socket, host, port, database }: Source): string {
  if (file !== null) return file;
  const server = unix_socket ?? `${host ?? ""}${port === null ? "" : `:${port}`}`;
  return database === null ? server : `${server}/${database}`;
}
