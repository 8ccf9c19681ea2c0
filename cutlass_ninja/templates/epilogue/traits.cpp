    {
        CUTLASS_NINJA_BIAS_{{ bias | upper }},
        CUTLASS_NINJA_{{ "VOID" if bias == "none" else element_d | upper }},
        CUTLASS_NINJA_ACTIVATION_{{ activation | upper }},
        CUTLASS_NINJA_BINARY_OP_{{ (binary_op | default("none")) | upper }},
        CUTLASS_NINJA_ACTIVATION_{{ (unary_op | default("identity")) | upper }},
    },
