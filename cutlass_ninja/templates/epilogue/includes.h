{#- Headers of OutputOp. -#}
{% set clamp = epilogue_functor == "linear_combination_clamp" -%}
{% set residual = epilogue_functor == "linear_combination_residual_block" -%}
{% set generic = activation != "identity" and not has_broadcast -%}
#include "cutlass/epilogue/thread/linear_combination.h"
{% if clamp -%}
#include "cutlass/epilogue/thread/linear_combination_clamp.h"
{% elif residual -%}
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/epilogue/thread/linear_combination_residual_block.h"
{% elif has_broadcast -%}
#include "cutlass/epilogue/thread/linear_combination_bias_elementwise.h"
{% elif generic -%}
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/epilogue/thread/linear_combination_generic.h"
{% endif -%}
