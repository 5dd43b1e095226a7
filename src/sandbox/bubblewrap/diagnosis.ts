import { existsSync, readFileSync } from "node:fs";
import type { Problem } from "../sandbox.ts";

/** What there is to be seen of a machine on which bubblewrap does not start. */
interface HostFacts {
  /** The value of a file below /proc/sys; undefined when this kernel has no such switch. */
  setting(name: string): string | undefined;
  isContainer(): boolean;
}

const thisHost: HostFacts = {
  setting(name) {
    try {
      return readFileSync(`/proc/sys/${name}`, "utf8").trim();
    } catch {
      return undefined;
    }
  },
  isContainer: () => existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
};

/** Why bwrap could not even start, in the order of how often that is it. */
export function diagnose(words: string, runtime: HostFacts = thisHost): Problem {
  const said = words.trim().replace(/\.$/, "");
  if (runtime.setting("kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return {
      what: `AppArmor restricts user namespaces (${said}).`,
      fix: "Install the package apparmor-profiles and enable its profile bwrap-userns-restrict: `ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && systemctl reload apparmor`.",
    };
  }
  if (runtime.setting("kernel/unprivileged_userns_clone") === "0") {
    return {
      what: `The kernel forbids user namespaces to ordinary users (${said}).`,
      fix: "Allow them: `sysctl -w kernel.unprivileged_userns_clone=1`, and the same in /etc/sysctl.d.",
    };
  }
  if (runtime.setting("user/max_user_namespaces") === "0") {
    return {
      what: `User namespaces are switched off (${said}).`,
      fix: "Switch them on: `sysctl -w user.max_user_namespaces=15000`, and the same in /etc/sysctl.d.",
    };
  }
  if (runtime.isContainer()) {
    return {
      what: `The container's own seccomp profile, AppArmor profile or covered /proc blocks bubblewrap (${said}).`,
      fix: "Start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, as docker-compose.yml does, or run Heddle on the host or in a virtual machine.",
    };
  }
  return {
    what: `A sandbox could not be started (${said}).`,
    fix: "Look into the kernel's log (`journalctl -k`): where it says DENIED (AppArmor) or avc: denied (SELinux), let the profile that it names allow bubblewrap user namespaces and mounts.",
  };
}
