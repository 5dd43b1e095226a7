/**
 * Where the program looks for bubblewrap (`launchEnvironment` in src/sandbox/bubblewrap/command-line.ts), whatever PATH
 * says: one in a home folder could not be started by the users that sandboxes run as.
 */
export const sandboxPath = ["/usr/local/bin", "/usr/bin", "/bin"];
