--[[
  Publishes several hints by one command.

  KEYS[1] any key of the thread, for its place in a cluster

  ARGV[1] their number h, then h pairs of channel and message
]]
-- @include publish-hints
publishHints(1)
