import { describe, expect, it } from 'vitest';
import { DAY, HOUR, isoIn, millis, MINUTE, offset, percent, relative, show, span, timeSpan } from './time';

const NOW = Date.parse('2026-11-18T13:32:07Z');
const Z = 'Europe/Zurich';

describe('a time', () => {
  it('is only hour and minute today, with its weekday this week, and with its date later', () => {
    expect(show(NOW + 13 * MINUTE - 7000, 'auto', Z, NOW)).toBe('14:45');
    expect(show(Date.parse('2026-11-19T05:00:00Z'), 'auto', Z, NOW)).toBe('Thu 06:00');
    expect(show(Date.parse('2026-11-27T21:00:00Z'), 'auto', Z, NOW)).toBe('27 Nov 22:00');
    expect(show(Date.parse('2027-02-01T21:00:00Z'), 'auto', Z, NOW)).toBe('1 Feb 2027 22:00');
  });
  it('shows seconds only if they are not zero', () => {
    expect(show(NOW, 'auto', Z, NOW)).toBe('14:32:07');
  });
  it('shows its offset in an hour that exists twice, and in no other', () => {
    expect(show(Date.parse('2026-10-25T00:30:00Z'), 'hm', Z, NOW)).toBe('02:30 +02:00');
    expect(show(Date.parse('2026-10-25T01:30:00Z'), 'hm', Z, NOW)).toBe('02:30 +01:00');
    expect(show(Date.parse('2026-10-25T02:30:00Z'), 'hm', Z, NOW)).toBe('03:30');
    expect(show(Date.parse('2026-03-29T01:30:00Z'), 'hm', Z, NOW)).toBe('03:30');
  });
  it('has the offset of its zone, summer and winter, also by half an hour', () => {
    expect(offset(NOW, Z)).toBe(60);
    expect(offset(Date.parse('2026-07-01T00:00:00Z'), Z)).toBe(120);
    expect(offset(NOW, 'Asia/Kolkata')).toBe(330);
    expect(isoIn(NOW, 'America/New_York')).toBe('2026-11-18T08:32:07-05:00');
  });
});

describe('a duration', () => {
  it('is said in at most two units', () => {
    expect(span(53_000)).toBe('53 s');
    expect(span(13 * MINUTE)).toBe('13 min');
    expect(span(2 * HOUR + 5 * MINUTE)).toBe('2 h 5 min');
    expect(span(DAY + 6 * HOUR)).toBe('1 d 6 h');
  });
  it('is relative to now', () => {
    expect(relative(NOW + 53_000, NOW)).toBe('in 53 s');
    expect(relative(NOW - 53_000, NOW)).toBe('53 s ago');
    expect(relative(NOW + 200, NOW)).toBe('now');
  });
  it('has a digit behind the point only where it is short', () => {
    expect(millis(0.31)).toBe('0.3 ms');
    expect(millis(446)).toBe('446 ms');
    expect(millis(1240)).toBe('1.2 s');
  });
  it('of the API is read with days and fractions, and nothing else is', () => {
    expect(timeSpan('00:00:30')).toBe(30_000);
    expect(timeSpan('1.02:00:00')).toBe(DAY + 2 * HOUR);
    expect(timeSpan('00:00:00.0003000')).toBeCloseTo(0.3);
    expect(timeSpan('PT1M')).toBeNull();
  });
});

it('a share is never rounded up to all', () => {
  expect(percent(1_171_393, 1_171_467)).toBe('99.993 %');
  expect(percent(999_999_999, 1_000_000_000)).toBe('99.999 %');
  expect(percent(10, 10)).toBe('100 %');
  expect(percent(1, 3)).toBe('33.3 %');
});
