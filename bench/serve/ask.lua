-- Sends the bodies of a file, one after another.
local bodies = {}
local at = 0

function init(args)
  for line in io.lines(args[1]) do
    bodies[#bodies + 1] = line
  end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
