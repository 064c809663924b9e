"""The planning core: bytes and steps only; it imports without any TVM.

Each line imports only from lines above it::

    model, trace         the values: buffers, pools, problems and plans; what a program does
    judge/               whether a plan is right; it shares no code with a planner
    lifetimes/           program -> problem: who is alive when, what may be written in place, what threads may share
    preparing/           problem -> simpler problem: what must share, granularities, groups that share no pool
    files/               problems and plans as files
    conflicts            who may not share bytes with whom
    usmp                 what TVM's own planners would do, to compare with
    bounds/              what no plan can beat, by pressure and by cliques
    compiling, effort    numba, and how much may be tried
    packing/             orders x fits through one kernel, and a search that improves an order
    slots/               colourings, and slots made of them; textures: slots of several dimensions
    exact/               the search that proves
    large/               very many buffers, on arrays
    finishing/           plan -> better plan: penalties, outputs onto their inputs, an arena cut into pieces
    planners             by name, made of all these; `plan` runs one and has it judged
    spilling/            several memories: planners with what goes to a slower one
"""
