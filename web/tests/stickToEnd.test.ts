import { expect, test } from "vitest";
import { scrolledUp } from "../src/chat/useStickToEnd";

const AT_END = { scrollTop: 600, scrollHeight: 1000, clientHeight: 400 };

test("somebody scrolls up, also in the moment in which something is added below", () => {
  expect(scrolledUp(AT_END, { ...AT_END, scrollTop: 500 })).toBe(true);
  expect(scrolledUp(AT_END, { ...AT_END, scrollTop: 500, scrollHeight: 1300 })).toBe(true);
});

test("what grows, shrinks or becomes taller moves the place without anybody", () => {
  expect(scrolledUp(AT_END, { ...AT_END, scrollHeight: 1300 })).toBe(false);
  expect(scrolledUp(AT_END, { ...AT_END, scrollTop: 500, scrollHeight: 900 })).toBe(false);
  expect(scrolledUp(AT_END, { ...AT_END, scrollTop: 500, clientHeight: 500 })).toBe(false);
  expect(scrolledUp(AT_END, { ...AT_END, scrollTop: 599.5 })).toBe(false);
});

test("scrolling further than what shrank is somebody's doing", () => {
  expect(scrolledUp(AT_END, { ...AT_END, scrollTop: 300, scrollHeight: 900 })).toBe(true);
});
