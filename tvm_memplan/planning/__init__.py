"""The planning core: bytes and steps only; it imports without any TVM.

::

    the values            model (buffers, pools, problems, plans), trace (what a program does)
    program -> problem    liveness, in_place (proved by dependence), aliases (what must share), granularity; barriers
                          (threads of a block)
    who may not share     conflicts; parts (groups of buffers that share no pool)
    bounds                bound, by pressure and by clique and clique_search
    planners              planners has them by name; orders x pack through one kernel, search improves an order,
                          penalties breaks ties; colour makes slots from colouring and slots (textures: N-d slots)
    exact search          exact drives exact_kernel over sections; alone, effort (how much is looked at), infeasible
    several memories      spill, by what traffic says that a run moves
    very many buffers     many and large, on arrays
    for quick code        onto_inputs (in place where it costs nothing), pieces (an arena cut into allocations)
    the judge             check, and check_sweep for very many; neither shares code with a planner
    the world outside     files (reading and writing), usmp (what TVM's own planners would do, to compare with)
"""
