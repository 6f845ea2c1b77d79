/** The axis of a chart, and the days along it. */

/** The least round number that a value fits under: 1, 2 or 5 with zeros. */
export function roundAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return step * power;
}

/** Where to draw lines across: from nothing to the top; half of five calls would be no number of calls. */
export const ticksOf = (top: number): number[] => (top % 2 === 0 ? [0, top / 2, top] : [0, top]);

/** Every day of a time up to today, as the service names days: in UTC. */
export function daysUntil(today: Date, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(today);
    day.setUTCDate(day.getUTCDate() - (count - 1 - index));
    return day.toISOString().slice(0, 10);
  });
}

/** Which labels of many fit below each other's place: every so-manieth, the last one among them. */
export function labelEvery(count: number, width: number, each = 64): number {
  return Math.max(1, Math.ceil(count / Math.max(1, Math.floor(width / each))));
}
