/**
 * Markdown of a model: HTML in it is text, pictures are links, links open elsewhere.
 *
 * While it is being written only its last block is read again, so that long answers stay smooth.
 */
import { memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { splitBlocks } from "./blocks";
import css from "./Markdown.module.css";

const PLUGINS = [remarkGfm];

/** A model's headings stand below those of the page, whatever it thinks of their rank. */
const heading = (rank: number) =>
  function Heading({ children }: { children?: ReactNode }) {
    return <h3 data-rank={rank}>{children}</h3>;
  };

const COMPONENTS: Components = {
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(4),
  h6: heading(4),
  a: ({ children, href }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  ),
  // Nothing is loaded because a model says so: an address can carry what it has read.
  img: ({ alt, src }) => (
    <a
      href={typeof src === "string" ? src : undefined}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      {alt || String(src)}
    </a>
  ),
  pre: ({ children }) => (
    <pre tabIndex={0} dir="ltr">
      {children}
    </pre>
  ),
  table: ({ children }) => (
    <div className={css.table} tabIndex={0} role="group">
      <table>{children}</table>
    </div>
  ),
};

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  );
});

/** Loaded with the first answer: a page on which one begins to write does not need it. */
export default memo(function Markdown({
  text,
  streaming = false,
}: {
  text: string;
  streaming?: boolean;
}) {
  const blocks = useMemo(() => (streaming ? splitBlocks(text) : [text]), [text, streaming]);
  return (
    <div className={`${css.markdown} foreign`} dir="auto">
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
});
