/** What was begun to be written waits where it was begun. */
import { expect, test } from "vitest";
import { draftAt, keepDraft, moveDraft, NEW_SESSION } from "../src/chat/drafts";
import { Connection } from "../src/events/connection";

const nobody = { open: () => ({}) as WebSocket, url: () => "", random: () => 1 };
const words = (text: string) => ({ words: text, attached: [] });

test("a draft is one person's, and one place's", () => {
  const ann = new Connection(nobody);
  keepDraft(ann, "ses_1", words("mine"));
  expect(draftAt(ann, "ses_1").words).toBe("mine");
  expect(draftAt(ann, "ses_2").words).toBe("");
  expect(draftAt(new Connection(nobody), "ses_1").words).toBe("");
});

test("a draft that moves replaces nothing that was there", () => {
  const ann = new Connection(nobody);
  keepDraft(ann, "ses_1", words("there"));
  moveDraft(ann, NEW_SESSION, "ses_1");
  expect(draftAt(ann, "ses_1").words).toBe("there");
  keepDraft(ann, NEW_SESSION, words("since"));
  moveDraft(ann, NEW_SESSION, "ses_1");
  expect(draftAt(ann, "ses_1").words).toBe("there\nsince");
  expect(draftAt(ann, NEW_SESSION).words).toBe("");
});
