/**
 * What is used of Bolt, each from the module that has it: Bolt's main module also loads a receiver that nobody here uses,
 * and Express with it, which is 80 further modules at each start.
 */
import app from "@slack/bolt/dist/App.js";
import http from "@slack/bolt/dist/receivers/HTTPReceiver.js";
import socket from "@slack/bolt/dist/receivers/SocketModeReceiver.js";

export const { default: App } = app;
export const { default: HTTPReceiver } = http;
export const { default: SocketModeReceiver } = socket;
