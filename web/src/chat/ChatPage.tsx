/** The chat: a new session, or one that exists. */
import { useParams } from "react-router";
import { NewChat } from "./NewChat";
import { SessionView } from "./SessionView";

export default function ChatPage() {
  const { sessionId } = useParams();
  return sessionId === undefined ? (
    <NewChat />
  ) : (
    <SessionView key={sessionId} sessionId={sessionId} />
  );
}
