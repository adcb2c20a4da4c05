import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Deadline } from "./deadline.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

it("expires once its time is over, not before", () => {
  const expire = vi.fn();
  new Deadline(100, expire);
  vi.advanceTimersByTime(99);
  expect(expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  vi.advanceTimersByTime(1000);
  expect(expire).toHaveBeenCalledOnce();
});

it("stands still between pause and resume, nested or over the old end", () => {
  const expire = vi.fn();
  const deadline = new Deadline(100, expire);
  vi.advanceTimersByTime(40);
  deadline.pause();
  deadline.pause();
  vi.advanceTimersByTime(500);
  deadline.resume();
  vi.advanceTimersByTime(500);
  deadline.resume();
  vi.advanceTimersByTime(30);
  deadline.pause();
  vi.advanceTimersByTime(10);
  deadline.resume();
  vi.advanceTimersByTime(29);
  expect(expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(expire).toHaveBeenCalledOnce();
});

it("never expires after its end, nor without a limit", () => {
  const expire = vi.fn();
  const deadline = new Deadline(100, expire);
  deadline.pause();
  deadline.end();
  deadline.resume();
  new Deadline(0, expire).resume();
  vi.advanceTimersByTime(10_000);
  expect(expire).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
