import type { PlatformHearing } from "../../adapters/console/setup-at-console.ts";
import { connections } from "../../chat/adapter.ts";
import type { HeardMessage, HeardMessages } from "../../operations/installation/heard.ts";
import type { SilenceReasons } from "./find-reasons.ts";

/** Whether people are heard on the platforms that this process is connected to. */
export interface Hearing {
  /** As far as it is known: it is kept up to date while somebody follows. */
  state(): PlatformHearing[];
  follow(onChange: () => void): () => void;
}

export interface HearingOptions {
  /** Those of the configuration; the console is none. */
  platforms: readonly string[];
  isConnected(platform: string): boolean;
  heard: HeardMessages;
  findReasons(platform: string): Promise<SilenceReasons>;
  mask(text: string): string;
  now(): number;
  onProblem(problem: string, error: unknown): void;
  /** For how long a platform may be silent before it is told what nobody can look up. Default: a minute, in ms. */
  patienceMs?: number;
  /** How often a platform that is silent is asked for reasons while somebody looks, ms. */
  lookEveryMs?: number;
}

/** Opened when the process starts: what was heard before says nothing about its tokens. */
export function openHearing(options: HearingOptions): Hearing {
  const { platforms, heard, mask, now, patienceMs = 60_000, lookEveryMs = 20_000 } = options;
  const startedAt = now();
  const listeners = new Set<() => void>();
  const reasons = new Map<string, SilenceReasons>();
  let latest: ReadonlyMap<string, HeardMessage> = new Map();
  let end: (() => void) | undefined;

  const tell = () => {
    for (const listener of listeners) listener();
  };
  const findHeard = (platform: string) => {
    const found = latest.get(platform);
    return found && found.at >= startedAt ? found : undefined;
  };

  async function readHeard(): Promise<void> {
    latest = await heard.read();
    tell();
  }

  async function askFor(platform: string): Promise<void> {
    const { found, unseen } = await options.findReasons(platform);
    reasons.set(platform, { found: found.map(mask), unseen });
    tell();
  }

  const tellProblem = (error: unknown) => options.onProblem("Whether people are heard is not known.", error);
  const refresh = () => void readHeard().catch(tellProblem);
  const look = () => {
    refresh();
    for (const platform of platforms) if (!findHeard(platform)) void askFor(platform).catch(tellProblem);
  };

  function begin(): () => void {
    const endWatching = heard.watch(refresh);
    connections.subscribe(tell);
    const timer = setInterval(look, lookEveryMs).unref();
    // The first minute ends between two looks.
    const silence = setTimeout(tell, Math.max(0, startedAt + patienceMs - now())).unref();
    look();
    return () => {
      endWatching();
      connections.unsubscribe(tell);
      clearInterval(timer);
      clearTimeout(silence);
    };
  }

  return {
    state: () =>
      platforms.map((platform): PlatformHearing => {
        const message = findHeard(platform);
        if (message) return { platform, state: "heard", message };
        const { found = [], unseen } = reasons.get(platform) ?? {};
        if (!options.isConnected(platform)) return { platform, state: "unreached", reasons: found };
        if (now() - startedAt < patienceMs) return { platform, state: "listening", reasons: found };
        return { platform, state: "silent", reasons: unseen === undefined ? found : [...found, unseen] };
      }),
    follow(onChange) {
      listeners.add(onChange);
      end ??= platforms.length > 0 ? begin() : undefined;
      return () => {
        listeners.delete(onChange);
        if (listeners.size > 0) return;
        end?.();
        end = undefined;
      };
    },
  };
}
