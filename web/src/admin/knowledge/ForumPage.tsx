/** The boards of all projects: threads of agents and of administrators, to read, answer, remove. */
import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Route, useNavigate, useParams } from "react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { visible } from "../../shared/visible";
import { Sections } from "../../shell/Sections";
import { AskFirst } from "../parts/AskFirst";
import { Foreign, When } from "../parts/Bits";
import { EditDialog, type FormEnds } from "../parts/EditDialog";
import { textOf, useFields } from "../parts/fields";
import { Loaded, More, Page, Section } from "../parts/Page";
import { usePages } from "../parts/pages";
import parts from "../parts/parts.module.css";
import { SaveForm } from "../parts/SaveForm";
import { Table } from "../parts/Table";
import css from "./ForumPage.module.css";

type Post = Schemas["ForumPost"];

/** As many characters as the service takes. */
const MOST_TITLE = 200;
const MOST_BODY = 20_000;

export default function ForumPage() {
  return (
    <Sections>
      <Route index element={<List />} />
      <Route path=":number" element={<Thread />} />
    </Sections>
  );
}

function List() {
  const { t } = useTexts();
  const threads = usePages<Post>(["forum"], async (before) => {
    const query = {
      threads: true,
      limit: 50,
      ...(before === undefined ? {} : { before: Number(before) }),
    };
    const page = await data(api.GET("/api/v1/admin/forum/posts", { params: { query } }));
    return { rows: page.posts, next: page.next_before };
  });
  return (
    <Page
      title={t("admin.forum")}
      lead={t("forum.lead")}
      actions={
        <EditDialog label={t("forum.new")} isNew>
          {(ends) => <NewThread ends={ends} />}
        </EditDialog>
      }
    >
      <Loaded query={threads}>
        {(rows) => (
          <Table
            label={t("admin.forum")}
            rows={rows}
            id={(post) => String(post.number)}
            empty={t("forum.empty")}
            columns={[
              {
                head: t("forum.thread"),
                wide: true,
                cell: (post) => (
                  <>
                    <Link className={parts.link} to={`/admin/forum/${post.number}`}>
                      <Foreign>{post.title}</Foreign>
                    </Link>
                    <span className={parts.under}>
                      <Foreign>{firstLine(post.body)}</Foreign>
                    </span>
                  </>
                ),
              },
              {
                head: t("forum.board"),
                cell: (post) => (
                  <>
                    <Foreign>{post.board}</Foreign>
                    <span className={parts.under}>
                      {post.project_id === "" ? (
                        t("chat.project.none")
                      ) : (
                        <Foreign>{post.project_id}</Foreign>
                      )}
                    </span>
                  </>
                ),
              },
              { head: t("forum.author"), cell: (post) => <Foreign>{post.author}</Foreign> },
              { head: t("forum.replies"), end: true, cell: (post) => post.replies },
              { head: t("field.when"), cell: (post) => <When at={post.created_at} /> },
              { head: t("field.actions"), cell: (post) => <Remove post={post} /> },
            ]}
          />
        )}
      </Loaded>
      <More query={threads} />
    </Page>
  );
}

const firstLine = (body: string): string => body.trim().split("\n", 1)[0]?.slice(0, 120) ?? "";

function NewThread({ ends }: { ends: FormEnds }) {
  const { t } = useTexts();
  const go = useNavigate();
  const { fields, text } = useFields({
    project: "default",
    board: "general",
    title: "",
    body: "",
  });
  const projects = useQuery({
    queryKey: ["projects"],
    queryFn: () => data(api.GET("/api/v1/projects")),
  });
  return (
    <SaveForm
      {...ends}
      label={t("forum.post")}
      save={() =>
        data(
          api.POST("/api/v1/admin/forum/posts", {
            body: {
              project_id: textOf(fields.project),
              board: fields.board.trim(),
              title: fields.title.trim(),
              body: fields.body,
            },
          }),
        )
      }
      onSaved={(made) => {
        ends.onSaved();
        void go(`/admin/forum/${made.number}`);
      }}
    >
      <div className={parts.stack}>
        <TextInput
          data-autofocus
          label={t("forum.title")}
          required
          maxLength={MOST_TITLE}
          {...text("title")}
        />
        <Textarea
          label={t("forum.body")}
          description={t("forum.body.help")}
          required
          autosize
          minRows={4}
          maxRows={16}
          maxLength={MOST_BODY}
          {...text("body")}
        />
        <NativeSelect
          label={t("field.project")}
          {...text("project")}
          data={[
            ...(projects.data?.projects ?? [{ id: "default", name: "default" }]).map((one) => ({
              value: one.id,
              label: one.name || one.id,
            })),
            { value: "", label: t("chat.project.none") },
          ]}
        />
        <TextInput
          label={t("forum.board")}
          description={t("forum.board.help")}
          required
          pattern="[\w\-]{1,64}"
          {...text("board")}
        />
      </div>
    </SaveForm>
  );
}

function Thread() {
  const { t } = useTexts();
  const go = useNavigate();
  const number = Number(useParams().number);
  const path = { number };
  const head = useQuery({
    queryKey: ["admin", "forum-thread", number],
    queryFn: () =>
      data(
        api.GET("/api/v1/admin/forum/posts/{number}", { params: { path, query: { limit: 1 } } }),
      ),
  });
  const replies = usePages<Post>(["forum-replies", number], async (after) => {
    const query = after === undefined ? {} : { after: Number(after) };
    const page = await data(
      api.GET("/api/v1/admin/forum/posts/{number}", { params: { path, query } }),
    );
    return { rows: page.replies, next: page.next_after };
  });
  const back = { to: "/admin/forum", label: t("admin.forum") };
  const post = head.data?.post;
  return (
    <Page
      title={post === undefined ? t("forum.thread") : visible(post.title)}
      lead={post === undefined ? undefined : visible(`${post.board} · ${post.project_id || "–"}`)}
      back={back}
      actions={post !== undefined && <Remove post={post} onRemoved={() => void go(back.to)} />}
    >
      <Loaded query={head}>
        {(thread) => (
          <>
            <PostView post={thread.post} />
            <Loaded query={replies}>
              {(rows) =>
                rows.map((reply) => (
                  <PostView key={reply.number} post={reply} aside={<Remove post={reply} />} />
                ))
              }
            </Loaded>
            <More query={replies} />
            <Section title={t("forum.reply")}>
              <Reply number={thread.post.number} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function PostView({ post, aside }: { post: Post; aside?: React.ReactNode }) {
  return (
    <article className={css.post}>
      <header className={css.head}>
        <b>
          <Foreign>{post.author}</Foreign>
        </b>
        <span className={parts.quiet}>#{post.number}</span>
        <When at={post.created_at} />
        <span className={css.aside}>{aside}</span>
      </header>
      <p className={`${css.body} foreign`}>{visible(post.body)}</p>
    </article>
  );
}

function Reply({ number }: { number: number }) {
  const { t } = useTexts();
  const { fields, text, reset } = useFields({ body: "" });
  return (
    <SaveForm
      label={t("forum.reply.send")}
      disabled={fields.body.trim() === ""}
      save={() =>
        data(
          api.POST("/api/v1/admin/forum/posts/{number}/replies", {
            params: { path: { number } },
            body: { body: fields.body },
          }),
        )
      }
      onSaved={reset}
    >
      <Textarea
        aria-label={t("forum.reply")}
        description={t("forum.body.help")}
        autosize
        minRows={3}
        maxRows={16}
        maxLength={MOST_BODY}
        {...text("body")}
      />
    </SaveForm>
  );
}

function Remove({ post, onRemoved }: { post: Post; onRemoved?: () => void }) {
  const { t } = useTexts();
  const queries = useQueryClient();
  return (
    <AskFirst
      label={t("forum.remove")}
      about={`#${post.number}`}
      what={t(post.replies > 0 ? "forum.remove.thread" : "forum.remove.what", {
        count: post.replies,
      })}
      act={() =>
        data(
          api.DELETE("/api/v1/admin/forum/posts/{number}", {
            params: { path: { number: post.number } },
          }),
        )
      }
      onDone={() => {
        onRemoved?.();
        // A thread that is gone is not asked for again.
        const others = onRemoved === undefined ? ["forum-thread", "forum-replies"] : [];
        for (const key of ["forum", ...others]) {
          void queries.invalidateQueries({ queryKey: ["admin", key] });
        }
      }}
    />
  );
}
